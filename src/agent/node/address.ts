// The loopback address for components of a node that is a folder. Each node has its own, so that ten nodes can use the same ports on one machine.
import { sha256 } from '#lib/sha256.ts'

export function loopbackAddress(cluster: string, machine: string): string {
  const [a = 0, b = 0, c = 0] = sha256(`${cluster}/${machine}`)
  // All other programs use 127.0.x.y; a last byte of 0 or 255 looks like a network or broadcast address.
  return `127.${1 + (a % 254)}.${b}.${1 + (c % 254)}`
}
