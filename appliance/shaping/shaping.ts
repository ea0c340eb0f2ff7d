/**
 * Traffic shaping: mailbox providers with their limits, the state of each lane, warm-up, and why mail waits. Pure;
 * `delivery/lanes.ts` applies it, and the API, dashboard and command line show it.
 */
export { explainWait, type Explanation, type DeliveryFacts } from './explain.ts'
export {
  getCurrentLimits,
  recordStart,
  createLaneState,
  isPaused,
  recordMailCommand,
  computeMailWait,
  applySignal,
  computeResumeTime,
  pauseManually,
  resumeManually,
  availableCapacity,
  getDisplayRate,
} from './lane.ts'
export type { LaneState, Signal, SignalKind } from './lane-state.ts'
export { createPace } from './pace.ts'
export {
  DEFAULT_PROVIDER,
  Providers,
  determineProvider,
  type Exchanger,
  type PauseRule,
  type Provider,
  type ProviderEntry,
  type ProviderTable,
} from './providers.ts'
export { RecentMessages, type LaneActivity } from './recent.ts'
export { laneId, parseLane, serializeLane } from './saved.ts'
export {
  NUMBER_SETTINGS,
  parseSettings,
  SETTING_NAMES,
  WARM_UP,
  toExternalSettings,
  type Limits,
  type Settings,
} from './settings.ts'
export { updateDailyCounts, applyWarmUpSetback, getWarmUpProgress } from './warm-up.ts'
export { formatMoment, nextMidnight, utcDay } from './warm-up.ts'
export {
  createShapingOperations,
  MAX_PAUSE_MINUTES,
  type QueueLaneFacts,
  type ShapingOperations,
  type SourceRate,
} from './operations.ts'
export type { LaneSummary } from './lane-summary.ts'
export { FORECAST_LIMITS, type Forecast, type TotalForecast } from './forecast.ts'
export { BACKLOG_STATES, PROVIDER_PLACEHOLDER, type BacklogCount } from './backlog.ts'
