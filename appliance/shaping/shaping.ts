/**
 * Traffic shaping: mailbox providers with their limits, the state of each lane, warm-up, and why mail waits. Pure;
 * `delivery/lanes.ts` applies it, and the API, dashboard and command line show it.
 */
export { explain, type Explanation, type Waiting } from './explain.ts'
export {
  allowed,
  began,
  freshLane,
  isPaused,
  mailSaid,
  mailWait,
  observe,
  opensAt,
  pausedBy,
  resumed,
  roomIn,
  shownRate,
  type LaneState,
  type Signal,
  type SignalKind,
} from './lane.ts'
export { freshPace } from './pace.ts'
export {
  DEFAULT_PROVIDER,
  Providers,
  providerOf,
  type Exchanger,
  type PauseRule,
  type Provider,
  type ProviderEntry,
  type ProviderTable,
} from './providers.ts'
export { RecentMessages, type LaneActivity } from './recent.ts'
export { laneId, readLane, writeLane } from './saved.ts'
export {
  NUMBER_SETTINGS,
  readSettings,
  SETTING_NAMES,
  WARM_UP,
  writeSettings,
  type Limits,
  type Settings,
} from './settings.ts'
export { countedToday, warmUpJudged, warmUpOf } from './warm-up.ts'
export { moment, nextMidnight, utcDay } from './warm-up.ts'
export {
  createShapingBook,
  MOST_PAUSE_MINUTES,
  type LaneSummary,
  type QueueLaneFacts,
  type ShapingBook,
  type SourceRate,
} from './book.ts'
export { FORECAST_LIMITS, type Forecast, type WholeForecast } from './forecast.ts'
export { BACKLOG_STATES, UNPLACED, type BacklogCount } from './backlog.ts'
