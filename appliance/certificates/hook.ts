/**
 * Runs the program that publishes DNS records for dns-01. No shell is involved, and the only argument is the action.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Clock } from '../clock/clock.ts'

/** Publishes or removes the TXT record of a name; rejects with the program's output. */
export type Hook = (act: 'present' | 'cleanup', name: string, value: string) => Promise<void>

/** Maximum number of characters of the program's output that are kept for the log. */
const MOST_SAID = 500
/**
 * How long to keep reading output after the program exits, in milliseconds. A process that it left running may keep the
 * pipe open forever.
 */
const LAST_WORDS_MS = 1000

/**
 * Creates a hook that runs a program.
 * @param file the program, called with `present` or `cleanup`; its environment has ACME_DOMAIN, ACME_RECORD
 * (`_acme-challenge.` and the name, RFC 8555 §8.4) and ACME_VALUE
 * @param seconds its time limit
 */
export function createHook(file: string, seconds: number, clock: Clock): Hook {
  return (act, name, value) =>
    new Promise((resolve, reject) => {
      // Pass no other variables, because this process's environment may contain secrets.
      const { PATH, HOME, LANG, TZ } = process.env
      const env = {
        PATH,
        HOME,
        LANG,
        TZ,
        ACME_DOMAIN: name,
        ACME_RECORD: `_acme-challenge.${name}`,
        ACME_VALUE: value,
      }
      const child = spawn(file, [act], { env, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
      let said = ''
      let late = false
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-MOST_SAID)
      })
      const cancel = clock.after(seconds * 1000, () => {
        late = true
        kill(child)
      })
      const fail = (why: string): void => {
        cancel()
        reject(new Error(`acme.hook ${file} ${act} for ${name} failed: ${why}`))
      }
      child.on('error', (error) =>
        fail(`${error.message}. Check that it exists and that the service can execute it.`),
      )
      const ended = (code: number | null, signal: string | null): void => {
        const words = said.replaceAll(/\p{Cc}+/gu, ' ').trim()
        if (late) fail(`it did not finish within ${seconds} seconds.`)
        else if (code !== 0) fail(`${code === null ? signal : `exit code ${code}`}. ${words}`.trim())
        else {
          cancel()
          resolve()
        }
      }
      child.on('exit', (code, signal) => {
        if (child.stderr.closed) return ended(code, signal)
        const stop = clock.after(LAST_WORDS_MS, () => child.stderr.destroy())
        child.stderr.on('close', () => {
          stop()
          ended(code, signal)
        })
      })
    })
}

/** Kills the process group, including everything that a script started. */
function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // The process has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
