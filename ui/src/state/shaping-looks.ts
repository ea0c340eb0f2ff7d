/** How lanes and source addresses look in one glance. */
import CircleCheck from '@lucide/svelte/icons/circle-check'
import Flame from '@lucide/svelte/icons/flame'
import Gauge from '@lucide/svelte/icons/gauge'
import Pause from '@lucide/svelte/icons/pause'
import type { Source } from '../api/sources.ts'
import type { LaneState } from './lanes.ts'
import type { Look } from './status.ts'

export const LANE_STATE: Record<LaneState, Look> = {
  paused: { word: 'paused', tone: 'red', icon: Pause },
  slowed: { word: 'slowed', tone: 'amber', icon: Gauge },
  warming: { word: 'warm-up', tone: 'blue', icon: Flame },
  open: { word: 'open', tone: 'green', icon: CircleCheck },
}

/** Whether mail leaves from an address. */
export const SOURCE_STATE: Record<Source['state'], Look> = {
  active: { word: 'in use', tone: 'green', icon: CircleCheck },
  suspended: { word: 'suspended', tone: 'red', icon: Pause },
}
