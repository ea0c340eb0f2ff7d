/** Formats a number of bytes: `812 bytes`, `14.2 KiB`, `3.5 MiB`, `70.8 GiB`. */
export function formatBytes(count: number): string {
  if (count < 1024) return `${count} ${count === 1 ? 'byte' : 'bytes'}`
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`
  if (count < 1024 ** 3) return `${(count / 1024 ** 2).toFixed(1)} MiB`
  return `${(count / 1024 ** 3).toFixed(1)} GiB`
}
