import { userInfo } from 'node:os'

/** The system's name for the user of this process, for the audit log; `uid 10001` where it has none. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container runs as a number that no line of /etc/passwd belongs to: getpwuid(3) finds nothing.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
