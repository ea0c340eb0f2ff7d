import { Worker } from 'node:worker_threads'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { compileFunction } from 'node:vm'
import { expect, test } from 'vitest'
import { releaseMemory, shouldCollectGarbage } from '../../../appliance/watch/spare-memory.ts'

const MEGABYTE = 2 ** 20
const MINUTE = 60_000
const rested = { busy: 0.01, held: 40 * MEGABYTE, heldThen: 20 * MEGABYTE, since: 11 * MINUTE }

test.each([
  ['idle at the first check', { ...rested, heldThen: null, since: 1 }, true],
  ['idle again, and the heap has grown', rested, true],
  ['busy', { ...rested, busy: 0.03 }, false],
  ['busy at the first check', { ...rested, busy: 0.03, heldThen: null }, false],
  ['idle, but was collected nine minutes ago', { ...rested, since: 9 * MINUTE }, false],
  [
    'collected a minute ago, and holds much more after a burst',
    { ...rested, held: 90 * MEGABYTE, since: MINUTE },
    true,
  ],
  ['collected a moment ago, after a burst', { ...rested, held: 90 * MEGABYTE, since: MINUTE - 1 }, false],
  ['idle, and has grown little', { ...rested, held: 27 * MEGABYTE }, false],
])('worthCollecting evaluates a thread that is %s', (_, look, expected) => {
  expect(shouldCollectGarbage(look)).toBe(expected)
})

test('releasing spare memory returns unreferenced memory to the system', () => {
  const held = (): number => getHeapStatistics().total_heap_size
  let garbage: number[][] | null = Array.from({ length: 100 }, () =>
    new Array<number>(MEGABYTE / 8).fill(0.5),
  )
  const before = held()
  expect(garbage.length).toBe(100)
  garbage = null
  releaseMemory()
  expect(before - held()).toBeGreaterThan(90 * MEGABYTE)
})

test('releasing spare memory frees the bytecode of functions, which still work', () => {
  const bytecode = (): number =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'trusted_space')!.space_used_size
  const before = bytecode()
  const sum = Array.from({ length: 200 }, (_, n) => `x * ${n}`).join(' + ')
  const functions = Array.from(
    { length: 1000 },
    (_, n) => compileFunction(`return ${n} + ${sum}`, ['x']) as (x: number) => number,
  )
  const sums = functions.map((one) => one(1))
  const called = bytecode()
  expect(called - before).toBeGreaterThan(0.5 * MEGABYTE)
  releaseMemory()
  expect(bytecode() - before).toBeLessThan((called - before) / 10)
  expect(functions.map((one) => one(1))).toEqual(sums)
})

test('an idle thread collects its own garbage', async () => {
  const source = `
    const { parentPort } = require('node:worker_threads')
    const { getHeapStatistics } = require('node:v8')
    import(${JSON.stringify(new URL('../../../appliance/watch/spare-memory.ts', import.meta.url).href)}).then(({ watchSpareMemory }) => {
      let garbage = Array.from({ length: 100 }, () => new Array(${MEGABYTE / 8}).fill(0.5))
      const before = getHeapStatistics().total_heap_size
      garbage = null
      watchSpareMemory(200)
      const look = setInterval(() => {
        if (before - getHeapStatistics().total_heap_size < ${90 * MEGABYTE}) return
        clearInterval(look)
        parentPort.postMessage('given back')
      }, 200)
    })`
  const thread = new Worker(source, { eval: true })
  try {
    const said = await new Promise((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
    })
    expect(said).toBe('given back')
  } finally {
    await thread.terminate()
  }
})
