// The address of the loopback network at which components of a node that is a folder are reached: its own for every node, so that ten of them can
// use the same ports on one machine.
import { createHash } from 'node:crypto'

export function loopbackAddress(cluster: string, machine: string): string {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(`${cluster}/${machine}`).digest()
  // 127.0.x.y is what all other programs use; 0 and 255 at the end look like a network and its broadcast.
  return `127.${1 + (a % 254)}.${b}.${1 + (c % 254)}`
}
