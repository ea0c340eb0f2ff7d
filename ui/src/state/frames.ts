/** Schedules work relative to animation frames. Each function returns a cancel function. */

/** Runs `act` before the next frame, after the current work. */
export function runBeforeNextFrame(act: () => void): () => void {
  let left = false
  queueMicrotask(() => {
    if (!left) act()
  })
  return () => void (left = true)
}

/** Runs `act` after the next frame is painted. */
export function runAfterNextFrame(act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const frame = requestAnimationFrame(() => (timer = setTimeout(act)))
  return () => {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
  }
}
