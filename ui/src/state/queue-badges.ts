/** Labels and icons of queue states and sending IPs. */
import CalendarClock from '@lucide/svelte/icons/calendar-clock'
import CircleCheck from '@lucide/svelte/icons/circle-check'
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Clock from '@lucide/svelte/icons/clock'
import Flame from '@lucide/svelte/icons/flame'
import Gauge from '@lucide/svelte/icons/gauge'
import Layers from '@lucide/svelte/icons/layers'
import Pause from '@lucide/svelte/icons/pause'
import Send from '@lucide/svelte/icons/send'
import TriangleAlert from '@lucide/svelte/icons/triangle-alert'
import Unplug from '@lucide/svelte/icons/unplug'
import type { Source } from '../api/sources.ts'
import type { QueueState } from './lanes.ts'
import type { StatusBadge } from './status.ts'

export const QUEUE_STATE_BADGES: Record<QueueState, StatusBadge> = {
  no_source: { word: 'no sending IP', tone: 'red', icon: TriangleAlert },
  no_route: { word: 'no route', tone: 'red', icon: Unplug },
  paused: { word: 'paused', tone: 'red', icon: Pause },
  held: { word: 'held', tone: 'amber', icon: Pause },
  warm_up: { word: 'warm-up limit', tone: 'amber', icon: Flame },
  rate_limited: { word: 'rate-limited', tone: 'amber', icon: Gauge },
  retrying: { word: 'waiting to retry', tone: 'amber', icon: Clock },
  busy: { word: 'connection limit', tone: 'blue', icon: Gauge },
  sending: { word: 'sending', tone: 'blue', icon: Send },
  due: { word: 'next in line', tone: 'slate', icon: Layers },
  unresolved: { word: 'not looked up', tone: 'slate', icon: CircleDashed },
  scheduled: { word: 'scheduled', tone: 'slate', icon: CalendarClock },
  mixed: { word: 'various', tone: 'slate', icon: Layers },
  idle: { word: 'idle', tone: 'green', icon: CircleCheck },
}

/** Labels of the states of a sending IP. */
export const SOURCE_STATE_BADGES: Record<Source['state'], StatusBadge> = {
  active: { word: 'in use', tone: 'green', icon: CircleCheck },
  suspended: { word: 'suspended', tone: 'red', icon: Pause },
}
