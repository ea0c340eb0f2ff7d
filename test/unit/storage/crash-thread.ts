/** A thread that opens and then crashes on the first call. */
import { runThread } from '../../../appliance/storage/engine/thread.ts'

runThread(() => ({
  most: 1,
  methods: [],
  execute() {
    throw new Error('out of memory')
  },
  close: () => undefined,
}))
