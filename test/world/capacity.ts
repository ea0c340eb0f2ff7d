import { join } from 'node:path'
import { createCapacity, type Capacity, type CapacityOptions } from '../../appliance/capacity/capacity.ts'
import type { Clock } from '../../appliance/clock/clock.ts'

const PLENTY = { total: 2000, perAddress: 1000, perStranger: 1000 }

/** Limits for the clients of a listener under test. They are generous unless a test overrides them. */
export function testCapacity(
  clock: Clock,
  dataDir: string,
  options: Partial<CapacityOptions> = {},
): Capacity {
  return createCapacity({
    clock,
    folder: join(dataDir, 'incoming'),
    messageBytes: 40 * 1024 * 1024,
    http: PLENTY,
    smtp: PLENTY,
    freeBytes: async () => null,
    leastFree: 0,
    heapBytes: 2 ** 31,
    descriptors: null,
    ...options,
  })
}
