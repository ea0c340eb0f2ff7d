/** API calls for the daemon: health, retention, erasures and postmaster mail. */
import type { Static } from 'typebox'
import type { CertificateList } from '../../../appliance/api/certificates.ts'
import type { Erasure, ErasureList } from '../../../appliance/api/erasures.ts'
import type { Limits, NodeList } from '../../../appliance/api/nodes.ts'
import type { FailoverPreview, Region, RegionList } from '../../../appliance/api/regions.ts'
import type { PostmasterMessageList } from '../../../appliance/api/received.ts'
import type { Retention } from '../../../appliance/api/retention.ts'
import { change, postQuery, read } from './client.ts'

export type { Erasure, FailoverPreview, Region }

export const listNodes = (signal?: AbortSignal) => read<Static<typeof NodeList>>('/nodes', signal)

/** Removes a node that isn't alive, and its sending IPs. */
export const removeNode = (node: string) => change('DELETE', `/nodes/${encodeURIComponent(node)}`)

export const listRegions = (signal?: AbortSignal) => read<Static<typeof RegionList>>('/regions', signal)

/** Checks SPF as if the mail of a region left from another one. */
export const previewFailover = (region: string, to: string) =>
  read<FailoverPreview>(`/regions/${encodeURIComponent(region)}/failover?to=${encodeURIComponent(to)}`)

export const getLimits = (signal?: AbortSignal) => read<Limits>('/limits', signal)

export const listCertificates = (signal?: AbortSignal) =>
  read<Static<typeof CertificateList>>('/certificates', signal)

export const listPostmasterMessages = (signal?: AbortSignal) =>
  read<Static<typeof PostmasterMessageList>>('/postmaster', signal)

/** Path of a message to postmaster, to download. */
export const postmasterPath = (message: string) => `/postmaster/${encodeURIComponent(message)}/source`

export const getRetention = (signal?: AbortSignal) => read<Retention>('/retention', signal)

export const listErasures = (signal?: AbortSignal) =>
  read<Static<typeof ErasureList>>('/erasures?limit=20', signal)

/** Counts what an erasure would delete, without changing anything. */
export const previewErasure = (address: string) => postQuery<Erasure>('/erasures', { address, dry_run: true })

/** Starts an erasure, which runs in the background and can't be undone. */
export const beginErasure = (address: string) => change<Erasure>('POST', '/erasures', { address })
