import { join } from 'node:path'

/** The program as ./scripts/start and the packages run it: put together by scripts/bundle.ts before the tests begin. */
export const PROGRAM = join(import.meta.dirname, '..', '..', '.program', 'main.js')

// Not imported, so that each test has the program of the bundle: only what `vitest --changed` follows.
void (() => import('../../appliance/main.ts'))
