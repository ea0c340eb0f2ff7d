/**
 * The processor time that `work` takes in this process, in milliseconds: unlike a clock it does not run while other programs
 * have the machine. For bounds that catch work that grows with the square of its input.
 */
export async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
