// Loaded into the daemon under attack (node --import). Tells its parent the longest turn of the event loop, in milliseconds of
// the main thread's processor time: unlike a clock, that does not run while other programs have the machine.
import { isMainThread } from 'node:worker_threads'

/** How often it looks; a turn is known to within this (milliseconds). */
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
  // A daemon under attack does not outlive the attack.
  process.once('disconnect', () => process.exit())
}
