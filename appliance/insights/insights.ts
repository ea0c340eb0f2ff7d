/** The doctor's checks: how this machine appears to receivers of its mail. */
export { examine, type DoctorDeps } from './doctor.ts'
export { createSharedDoctor, type SharedDoctor } from './shared-doctor.ts'
export { createReportView, type ReportView } from './report-view.ts'
export { viewCertificates } from './certificate-view.ts'
export { examineAttempts, judgeCertificate, readCertificates } from './certificate.ts'
export { dialOnly, probeAddress } from './dial.ts'
export { judgeDisk, measureDisk } from './disk.ts'
export { readEmailRecord } from './email-record.ts'
