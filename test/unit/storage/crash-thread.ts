/** A thread that opens and then crashes on the first call. */
import { serve } from '../../../appliance/storage/engine/thread.ts'

serve(() => ({
  most: 1,
  methods: [],
  execute() {
    throw new Error('out of memory')
  },
  close: () => undefined,
}))
