/** API calls for the first setup. */
import type { Static } from 'typebox'
import type { DoctorReport } from '../../../appliance/api/doctor.ts'
import type { Propagation } from '../../../appliance/api/propagation.ts'
import type { EmailCreated, SendEmail } from '../../../appliance/api/sending.ts'
import type { CreateOwner, SetUp } from '../../../appliance/api/set-up.ts'
import { change, read } from './client.ts'

export const getSetup = (signal?: AbortSignal) => read<SetUp>('/setup', signal)

/** Creates the owner and signs in this browser. */
export const createOwner = (body: CreateOwner) => change<SetUp>('POST', '/setup', body)

/** Returns the findings so far; the first call starts the checks. */
export const getDoctor = (signal?: AbortSignal) => read<DoctorReport>('/doctor?wait=false', signal)

/** Returns the latest findings. The server repeats the checks regularly. */
export const getLatestDoctor = (signal?: AbortSignal) => read<DoctorReport>('/doctor/latest', signal)

export const getPropagation = (domain: string, signal?: AbortSignal) =>
  read<Propagation>(`/domains/${encodeURIComponent(domain)}/propagation`, signal)

export const sendEmail = (body: SendEmail) => change<Static<typeof EmailCreated>>('POST', '/emails', body)
