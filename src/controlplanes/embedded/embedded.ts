// What hosts of embedded control planes share, for callers that do not load an API server.
import type { ControlPlaneHost } from '../port.ts'

export const EMBEDDED: Pick<ControlPlaneHost, 'name' | 'capabilities'> = {
  name: 'embedded',
  capabilities: {
    isHighlyAvailable: false,
    // They serve the newest one's API. Older ones are only reported, so that anything that depends on a server's version behaves as on that version.
    minors: ['1.34', '1.35', '1.36'],
    // Each takes about 20 MB and a port; this many fit into the heaps of four processes.
    most: 200,
  },
}
