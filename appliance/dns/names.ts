/** Domain names as text: without the root dot, lower case, A-labels only. */

/** Anything printable: owner names carry underscores, and RFC 2317 puts slashes into them. */
const ownerLabel = /^[!-\-/-[\]-~]{1,63}$/
/** Letters, digits, hyphen, and the underscore that is met in the wild. */
const hostLabel = /^[a-z0-9_-]{1,63}$/

/** Lower case and without the root dot. */
export function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Whether a canonical name can be asked for: labels of 1 to 63 bytes, 253 in all (RFC 1035 §2.3.4). */
export function isDomainName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => ownerLabel.test(label))
}

/** Whether a canonical name can be that of a host. */
export function isHostName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => hostLabel.test(label))
}
