/** The calls of the first run. */
import type { Static } from 'typebox'
import type { Doctor } from '../../../appliance/api/doctor.ts'
import type { Propagation } from '../../../appliance/api/propagation.ts'
import type { EmailCreated, SendEmail } from '../../../appliance/api/sending.ts'
import type { CreateOwner, SetUp } from '../../../appliance/api/set-up.ts'
import { change, read } from './client.ts'

export const getSetUp = (signal?: AbortSignal) => read<SetUp>('/setup', signal)

/** Makes the owner, and signs this browser in. */
export const createOwner = (body: CreateOwner) => change<SetUp>('POST', '/setup', body)

/** What the self-check has found so far; the first call begins it. */
export const getDoctor = (signal?: AbortSignal) => read<Doctor>('/doctor?wait=false', signal)

/** What the last self-check found; the appliance renews it now and then. */
export const getLatestDoctor = (signal?: AbortSignal) => read<Doctor>('/doctor/latest', signal)

export const getPropagation = (domain: string, signal?: AbortSignal) =>
  read<Propagation>(`/domains/${encodeURIComponent(domain)}/propagation`, signal)

export const sendEmail = (body: SendEmail) => change<Static<typeof EmailCreated>>('POST', '/emails', body)
