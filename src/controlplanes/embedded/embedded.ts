// What hosts of embedded control planes have in common, for those that ask one without loading an API server.
import type { ControlPlaneHost } from '../port.ts'

export const EMBEDDED: Pick<ControlPlaneHost, 'name' | 'capabilities'> = {
  name: 'embedded',
  capabilities: {
    isHighlyAvailable: false,
    // The API is that of the newest; older ones are reported, so that what depends on a server's version is judged as at a server of that version.
    minors: ['1.34', '1.35', '1.36'],
    // Each takes some 20 MB and a port; so many fit into the heaps of four processes.
    most: 200,
  },
}
