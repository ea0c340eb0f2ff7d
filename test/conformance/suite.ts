import type { Resend } from 'resend'
import { expect } from 'vitest'
import type { TestAppliance } from '../world/appliance.ts'

/** Shared by the parts of the suite: the appliance and a client for it. */
export interface Suite {
  appliance: TestAppliance
  client: Resend
  /** A sender address of the verified domain. */
  from: string
}

/** The result of a client method. */
type Result<T> =
  | { data: T; error: null }
  | { data: null; error: { message: string; name: string; statusCode: number | null } }

/** Returns the data of a successful call. Otherwise, fails the test with the server's error. */
export async function taken<T>(call: PromiseLike<Result<T>>): Promise<T> {
  const { data, error } = await call
  expect(error).toBeNull()
  return data!
}

/** Returns the error of a refused call. */
export async function refused<T>(
  call: PromiseLike<Result<T>>,
): Promise<{ name: string; statusCode: number | null; message: string }> {
  const { data, error } = await call
  expect(data).toBeNull()
  return error!
}

/** An ID that belongs to nothing. */
export const NOBODY = '0199c0de-0000-7000-8000-000000000000'
