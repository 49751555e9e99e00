// A single address of a range of IP addresses, counted from its first. Pure.

/** `10.96.0.10` is the tenth of `10.96.0.0/16`. For small numbers in a range whose own address ends in zeros, as ranges of Services do. */
export function addressIn(range: string, nth: number): string {
  const [network = ''] = range.split('/')
  if (network.includes(':')) return `${network.replace(/::$/, '')}::${nth.toString(16)}`
  return network.replace(/\.(\d+)$/, (_, last: string) => `.${Number(last) + nth}`)
}
