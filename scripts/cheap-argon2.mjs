// Replaces the password hashing of the program in processes that run tests (scripts/bundled-sources.mjs): with the
// program's cost, the thousands of passwords that tests set and check would take minutes. The hashes say how cheap they are,
// so that the program itself, which tests also start, can check them.
import argon2 from '@node-rs/argon2'

const cheap = { memoryCost: 64, timeCost: 1 }

export const hash = (password, cost) => argon2.hash(password, { ...cost, ...cheap })
export const { verify } = argon2
