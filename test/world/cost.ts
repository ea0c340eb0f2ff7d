/**
 * Measures the CPU time that `work` takes in this process, in milliseconds. Unlike elapsed time, it excludes time when
 * other programs run. Use it for bounds that catch quadratic work.
 */
export async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
