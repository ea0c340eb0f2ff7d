// Loaded into the daemon under attack (node --import). Reports the longest turn of the event loop to its parent, in
// milliseconds of the main thread's CPU time, which doesn't advance while other programs use the machine.
import { isMainThread } from 'node:worker_threads'

/** Interval between checks, which is the precision of the measured turns, in milliseconds. */
const LOOK_MS = 5
const TELL_MS = 200

const spent = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

if (isMainThread && process.send) {
  let before = spent()
  let longest = 0
  setInterval(() => {
    const now = spent()
    longest = Math.max(longest, now - before)
    before = now
  }, LOOK_MS).unref()
  setInterval(() => {
    process.send(longest)
    longest = 0
  }, TELL_MS).unref()
  process.channel.unref()
  // The daemon must not outlive the attack.
  process.once('disconnect', () => process.exit())
}
