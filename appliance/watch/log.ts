import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino'

export type { Logger } from 'pino'

/**
 * Structured lines on standard output, one JSON object each. Lines about an email carry `email_id`.
 * Secrets never get here: callers log ids, not tokens; `withoutSecrets` is a second fence.
 * @param destination where lines go instead
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }), log: withoutSecrets },
    serializers: { err: (error: Error) => withoutSecrets({ ...pino.stdSerializers.err(error) }) },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** A logger that says nothing, for tests and for commands whose output is the result. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' })
}

const SECRETS = new Set(['password', 'token', 'authorization', 'cookie'])
/** How deep the fence looks: `req.headers.cookie`. */
const DEPTH = 3

/** The same line where it holds no secret; pino's own `redact` clones each line, which takes longer than writing it. */
function withoutSecrets(line: Record<string, unknown>, depth = 1): Record<string, unknown> {
  let clean = line
  for (const key in line) {
    const value = line[key]
    const kept = SECRETS.has(key)
      ? '[removed]'
      : depth < DEPTH && isPlain(value)
        ? withoutSecrets(value, depth + 1)
        : value
    if (kept !== value) clean = { ...clean, [key]: kept }
  }
  return clean
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
