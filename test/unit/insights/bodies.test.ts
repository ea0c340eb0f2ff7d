import { expect, test } from 'vitest'
import { checkBodies } from '../../../appliance/insights/bodies.ts'

const status = { bucket: 'mail', endpoint: 'https://s3.example.com', respondedIn: 40 }
const examine = (respondedIn: number) =>
  checkBodies({ probeBodies: async () => ({ ...status, respondedIn }) }, 's3')

test('describes a bucket that works, and returns no finding without one', async () => {
  const found = 'Wrote, read and deleted an object in the bucket mail at https://s3.example.com in 40 ms.'
  expect(await examine(40)).toEqual([
    { id: 'bodies', title: 'Large messages', status: 'ok', found, advice: null },
  ])
  expect(await checkBodies({ probeBodies: async () => null }, 'engine')).toEqual([])
})

test('warns of a slow bucket', async () => {
  const advice = expect.stringContaining('s3.larger_than_kb') as string
  expect(await examine(1501)).toMatchObject([{ status: 'warning', advice }])
})

test('a bucket that cannot be used is a failure with the reason, or a warning if it is only read', async () => {
  const probeBodies = () => Promise.reject(new Error('The bucket mail is full.'))
  const found = 'The bucket mail is full.'
  expect(await checkBodies({ probeBodies }, 's3')).toMatchObject([{ status: 'failed', found }])
  expect(await checkBodies({ probeBodies }, 'engine')).toMatchObject([{ status: 'warning', found }])
})
