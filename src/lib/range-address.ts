// The nth address of an IP range. Pure.

/** `10.96.0.10` is the tenth of `10.96.0.0/16`. For small numbers in a range whose base address ends in zeros, as in Service ranges. */
export function addressIn(range: string, nth: number): string {
  const [network = ''] = range.split('/')
  if (network.includes(':')) return `${network.replace(/::$/, '')}::${nth.toString(16)}`
  return network.replace(/\.(\d+)$/, (_, last: string) => `.${Number(last) + nth}`)
}
