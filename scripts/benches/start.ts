/**
 * Measures how long the daemon takes from process start to its first listener, and its idle memory.
 * usage: ./scripts/bench start [--rounds N] [--idle SECONDS]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median, memoryBytes, processorSeconds, residentBytes } from './measured.ts'
import { createDaemonHome, startDaemon } from './real-daemon.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, idle: { type: 'string', default: '8' } },
})
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
const home = await createDaemonHome(folder, { address: '127.0.0.1', port: 9 })
const times: number[] = []
const processor: number[] = []
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    const daemon = await startDaemon(folder, home)
    times.push(daemon.startMs)
    processor.push(processorSeconds([daemon.pid]) * 1000)
    await daemon.stop()
  }
  const daemon = await startDaemon(folder, home)
  await new Promise((resolve) => setTimeout(resolve, Number(values.idle) * 1000))
  const [resident, proportional] = [residentBytes(daemon.pid), memoryBytes([daemon.pid])]
  await daemon.stop()
  const row = (name: string, value: number, unit: string): void =>
    console.log(name.padEnd(44) + value.toFixed(0).padStart(8) + unit)
  console.log(
    `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${times.length} starts\n`,
  )
  row('start of the process to first accept, median', median(times), ' ms')
  row('                                  shortest', Math.min(...times), ' ms')
  row('                                   longest', Math.max(...times), ' ms')
  row('processor time until then, median', median(processor), ' ms')
  row(`resident memory, idle for ${values.idle} s (RSS)`, resident / 1e6, ' MB')
  row('the same without what others share (PSS)', proportional / 1e6, ' MB')
} finally {
  await home.close()
  await rm(folder, { recursive: true, force: true })
}
