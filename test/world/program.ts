import { join } from 'node:path'

/** The program that ./scripts/start and the packages run, bundled by scripts/bundle.ts before the tests start. */
export const PROGRAM = join(import.meta.dirname, '..', '..', '.program', 'main.js')

// Never called. It lets `vitest --changed` see the dependency, while tests run the bundle.
void (() => import('../../appliance/main.ts'))
