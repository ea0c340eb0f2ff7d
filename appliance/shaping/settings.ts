/** The settings of a provider: in config/providers.toml, and at run time through the API and command line. Pure. */

/** Limits of one lane, from one sending IP to one provider. */
export interface Limits {
  /** Maximum number of concurrent connections. */
  connections: number
  messagesPerConnection: number
  messagesPerMinute: number
  recipientsPerMessage: number
  /** Number of seconds after which an unused connection is closed. */
  idleSeconds: number
}

/** All settings. */
export interface Settings extends Limits {
  /** Maximum number of messages from a new sending IP on its first, second, … day. */
  warmUp: number[]
}

/** A numeric setting. */
interface NumberSetting {
  /** Name of the setting in files, the API and the command line. */
  name: string
  key: keyof Limits
  minimum: number
  maximum: number
  description: string
}

/** The numeric settings in display order. */
export const NUMBER_SETTINGS: readonly NumberSetting[] = [
  {
    name: 'connections',
    key: 'connections',
    minimum: 1,
    maximum: 500,
    description: 'Open connections from one sending IP.',
  },
  {
    name: 'messages_per_connection',
    key: 'messagesPerConnection',
    minimum: 1,
    maximum: 10_000,
    description: 'Messages sent over one connection before it is closed.',
  },
  {
    name: 'messages_per_minute',
    key: 'messagesPerMinute',
    minimum: 1,
    maximum: 1_000_000,
    description: 'Messages in any 60 seconds from one sending IP.',
  },
  {
    name: 'recipients_per_message',
    key: 'recipientsPerMessage',
    minimum: 1,
    maximum: 1000,
    description: 'Recipients per message in one transaction.',
  },
  {
    name: 'idle_seconds',
    key: 'idleSeconds',
    minimum: 0,
    maximum: 300,
    description: 'Seconds before an unused connection is closed.',
  },
]

/** The setting that is a list. */
export const WARM_UP = {
  name: 'warm_up',
  most: 120,
  maximum: 100_000_000,
  description:
    'Messages that a new sending IP can send on its first, second, … day; unlimited after the last.',
}

/** All names of settings. */
export const SETTING_NAMES: readonly string[] = [...NUMBER_SETTINGS.map(({ name }) => name), WARM_UP.name]

/** An invalid value; `expected` completes "expected …". */
export interface InvalidSetting {
  name: string
  expected: string
}

const isWhole = (value: unknown, minimum: number, maximum: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum && value <= maximum

/** Reads settings from an object with external names; leaves unknown names to the caller. */
export function parseSettings(given: Record<string, unknown>): {
  settings: Partial<Settings>
  bad: InvalidSetting[]
} {
  const settings: Partial<Settings> = {}
  const bad: InvalidSetting[] = []
  for (const { name, key, minimum, maximum } of NUMBER_SETTINGS) {
    const value = given[name]
    if (value === undefined) continue
    if (isWhole(value, minimum, maximum)) settings[key] = value
    else bad.push({ name, expected: `a whole number from ${minimum} to ${maximum}` })
  }
  const plan = given[WARM_UP.name]
  if (plan === undefined) return { settings, bad }
  if (isPlan(plan)) settings.warmUp = plan
  else
    bad.push({
      name: WARM_UP.name,
      expected: `at most ${WARM_UP.most} whole numbers of 1 or more, in ascending order`,
    })
  return { settings, bad }
}

function isPlan(value: unknown): value is number[] {
  if (!Array.isArray(value) || value.length > WARM_UP.most) return false
  return value.every(
    (one, at) => isWhole(one, 1, WARM_UP.maximum) && (at === 0 || one >= (value[at - 1] as number)),
  )
}

/** Returns the settings under their external names. */
export function toExternalSettings(settings: Settings): Record<string, number | number[]> {
  return {
    ...Object.fromEntries(NUMBER_SETTINGS.map(({ name, key }) => [name, settings[key]])),
    [WARM_UP.name]: settings.warmUp,
  }
}
