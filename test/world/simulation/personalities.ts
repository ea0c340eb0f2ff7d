import { ODDITIES } from './oddities.ts'
import type { Personality } from './personality.ts'
import { PROVIDERS } from './providers.ts'

/** All receivers of the simulated internet. */
export const PERSONALITIES: readonly Personality[] = [...PROVIDERS, ...ODDITIES]
