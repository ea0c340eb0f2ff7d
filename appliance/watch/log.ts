import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino'

export type { Logger } from 'pino'

/**
 * Structured lines on standard output, one JSON object each. Lines about an email carry `email_id`.
 * Secrets never get here: callers log ids, not tokens; the paths below are a second fence.
 * @param destination where lines go instead
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [
        'password',
        'token',
        '*.password',
        '*.token',
        'req.headers.authorization',
        'req.headers.cookie',
      ],
      censor: '[removed]',
    },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** A logger that says nothing, for tests and for commands whose output is the result. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' })
}
