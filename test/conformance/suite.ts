import type { Resend } from 'resend'
import { expect } from 'vitest'
import type { TestAppliance } from '../world/appliance.ts'

/** What the parts of the suite share: the appliance, and the client that drives it. */
export interface Suite {
  appliance: TestAppliance
  client: Resend
  /** An address of the domain that may send. */
  from: string
}

/** What a method of the client returns. */
type Result<T> =
  | { data: T; error: null }
  | { data: null; error: { message: string; name: string; statusCode: number | null } }

/** The data of a call that succeeded; fails the test with what the server said. */
export async function taken<T>(call: PromiseLike<Result<T>>): Promise<T> {
  const { data, error } = await call
  expect(error).toBeNull()
  return data!
}

/** The error of a call that was refused. */
export async function refused<T>(
  call: PromiseLike<Result<T>>,
): Promise<{ name: string; statusCode: number | null; message: string }> {
  const { data, error } = await call
  expect(data).toBeNull()
  return error!
}

/** An id that nothing has. */
export const NOBODY = '0199c0de-0000-7000-8000-000000000000'
