/** Calls about the daemon itself, and about how long it keeps what. */
import type { Static } from 'typebox'
import type { CertificateList } from '../../../appliance/api/certificates.ts'
import type { Erasure, ErasureList } from '../../../appliance/api/erasures.ts'
import type { Limits, NodeList } from '../../../appliance/api/nodes.ts'
import type { PostmasterMessageList } from '../../../appliance/api/received.ts'
import type { Retention } from '../../../appliance/api/retention.ts'
import { change, question, read } from './client.ts'

export type { Erasure }

export const listNodes = (signal?: AbortSignal) => read<Static<typeof NodeList>>('/nodes', signal)

export const getLimits = (signal?: AbortSignal) => read<Limits>('/limits', signal)

export const listCertificates = (signal?: AbortSignal) =>
  read<Static<typeof CertificateList>>('/certificates', signal)

export const listPostmaster = (signal?: AbortSignal) =>
  read<Static<typeof PostmasterMessageList>>('/postmaster', signal)

/** Where a message to postmaster is downloaded. */
export const postmasterPath = (message: string) => `/postmaster/${encodeURIComponent(message)}/source`

export const getRetention = (signal?: AbortSignal) => read<Retention>('/retention', signal)

export const listErasures = (signal?: AbortSignal) =>
  read<Static<typeof ErasureList>>('/erasures?limit=20', signal)

/** Counts what would be touched; nothing is changed. */
export const surveyErasure = (address: string) => question<Erasure>('/erasures', { address, dry_run: true })

/** Begins it; it goes on in the background and cannot be undone. */
export const beginErasure = (address: string) => change<Erasure>('POST', '/erasures', { address })
