/** Doing something at another moment of a frame. Each returns how to leave it undone. */

/** Before the next frame, after all that is to be done now. */
export function soon(act: () => void): () => void {
  let left = false
  queueMicrotask(() => {
    if (!left) act()
  })
  return () => void (left = true)
}

/** Once the next frame is painted. */
export function afterFrame(act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const frame = requestAnimationFrame(() => (timer = setTimeout(act)))
  return () => {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
  }
}
