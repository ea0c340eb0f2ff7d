/** How this machine looks to the receivers of its mail: self-checks, and the book of the addresses that mail leaves from. */
export { examine, sortFindings, type DoctorDeps, type Machine } from './doctor.ts'
export { createSharedDoctor, type SharedDoctor } from './shared-doctor.ts'
export { isPublicAddress, machineAddresses } from './addresses.ts'
export { viewCertificates } from './certificate-view.ts'
export { examineAttempts, judgeCertificate, readCertificates } from './certificate.ts'
export { dialOnly, probeAddress } from './dial.ts'
export { judgeDisk, measureDisk } from './disk.ts'
export {
  createSourceBook,
  type NewAssignment,
  type NewSource,
  type SourceBook,
  type SourceEdit,
} from './source-book.ts'
export type { SourceCheckDeps } from './source-check.ts'
export { createSourceWatcher, type SourceWatcher } from './source-watcher.ts'
