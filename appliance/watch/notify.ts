/**
 * Notifies the service manager (sd_notify(3)). Node has no Unix datagram sockets, so the child process
 * systemd-notify(1) sends the notifications; the unit therefore sets `NotifyAccess=all`.
 */
import { execFile } from 'node:child_process'
import type { Clock } from '../clock/clock.ts'
import type { Health } from './health.ts'
import type { Logger } from './log.ts'

/** Sends one notification, such as `['READY=1', 'STATUS=…']`. Rejects if that fails. */
export type SendNotification = (assignments: readonly string[]) => Promise<void>

export interface NotifyDeps {
  clock: Clock
  log: Pick<Logger, 'warn' | 'error'>
  /** Environment of the process: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID. */
  env: NodeJS.ProcessEnv
  /** ID of this process. WATCHDOG_PID may name another process, which the watchdog is then meant for. */
  pid: number
  /** Sends notifications; default: systemd-notify. */
  send?: SendNotification
}

/** Reports the daemon's state to the service manager. Without one (no NOTIFY_SOCKET), calls do nothing. */
export interface Notifier {
  /** Reports that the daemon accepts mail. From then on, calls `alive` three times per watchdog period. */
  ready(status: string, alive: () => Promise<Health>): Promise<void>
  /** Reports the start of a reload, which ends with `reloaded`. */
  reloading(): Promise<void>
  reloaded(status: string): Promise<void>
  /**
   * Reports that shutdown has begun. The watchdog is still notified without a check, because closed storage can't pass
   * it; the service manager limits the time of the stop.
   */
  stopping(): Promise<void>
  /** Stops watchdog notifications. */
  close(): void
}

/** Time limit of a notification, in milliseconds. A service manager that doesn't read must not block the daemon. */
const SEND_MS = 10_000

/**
 * Returns the interval between watchdog notifications in milliseconds; null if the watchdog is off
 * (sd_watchdog_enabled(3)). It is a third of the watchdog period, so that one late notification does no harm. Pure.
 */
export function getWatchdogInterval(env: NodeJS.ProcessEnv, pid: number): number | null {
  const { WATCHDOG_USEC: period, WATCHDOG_PID: meant } = env
  if (period === undefined || !/^[1-9]\d*$/.test(period)) return null
  if (meant !== undefined && meant !== String(pid)) return null
  return Math.max(1, Math.floor(Number(period) / 1000 / 3))
}

/** Connects to the service manager that started this process, if there is one. */
export function createNotifier({ clock, log, env, pid, send = systemdNotify }: NotifyDeps): Notifier {
  const supervised = env.NOTIFY_SOCKET !== undefined && env.NOTIFY_SOCKET !== ''
  const pause = supervised ? getWatchdogInterval(env, pid) : null
  let last = Promise.resolve()
  let cancel: () => void = () => undefined
  let stage: 'running' | 'stopping' | 'closed' = 'running'

  // Send one after the other, because READY=1 must not overtake RELOADING=1.
  const tell = (...assignments: string[]): Promise<void> => {
    if (!supervised) return last
    last = last
      .then(() => send(assignments))
      .catch((err: unknown) =>
        log.warn(
          { err, notice: assignments[0] },
          'could not notify the service manager; is systemd-notify installed?',
        ),
      )
    return last
  }

  const feed = async (alive: () => Promise<Health>): Promise<void> => {
    const { ok, reasons } = stage === 'running' ? await alive() : { ok: true, reasons: [] }
    // Storage may have been closed during the check, which then failed.
    if (ok || stage !== 'running') await tell('WATCHDOG=1')
    else
      log.error(
        { reasons },
        'health check failed: not notifying the watchdog, so the service manager will restart this process',
      )
  }
  const watch = (alive: () => Promise<Health>): void => {
    if (pause === null) return
    const again = (): void => {
      cancel = clock.after(pause, () => void feed(alive).finally(() => stage !== 'closed' && again()))
    }
    again()
  }

  return {
    async ready(status, alive) {
      await tell('READY=1', `STATUS=${oneLine(status)}`)
      watch(alive)
    },
    reloading: () => tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    reloaded: (status) => tell('READY=1', `STATUS=${oneLine(status)}`),
    stopping() {
      stage = 'stopping'
      return tell('STOPPING=1', 'STATUS=Waiting for open SMTP conversations.')
    },
    close() {
      stage = 'closed'
      cancel()
    },
  }
}

/** Joins lines, because a line break would begin another assignment. */
const oneLine = (text: string): string => text.replace(/\s+/g, ' ')

function systemdNotify(assignments: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('systemd-notify', ['--', ...assignments], { timeout: SEND_MS }, (error) => {
      if (error) reject(new Error('systemd-notify failed', { cause: error }))
      else resolve()
    })
  })
}
