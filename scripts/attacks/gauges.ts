/** Reads a process's memory and file descriptors from /proc (proc(5)). Linux only. */
import { readdirSync, readFileSync } from 'node:fs'

/** Returns current and peak resident memory in bytes; zero if the process has ended. */
export function readMemory(pid: number): { now: number; peak: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const bytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024
    return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
  } catch {
    return { now: 0, peak: 0 } // The process has ended in the meantime.
  }
}

/** Counts a process's open descriptors: files, sockets and everything else. */
export function countDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0 // The process has ended in the meantime.
  }
}
