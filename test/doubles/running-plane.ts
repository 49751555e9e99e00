// A control plane that runs, as its host reports it.
import type { ControlPlane } from '#controlplanes/port.ts'

export const runningPlane = (id: string): ControlPlane => ({
  id,
  owner: 'u-1',
  state: 'Running',
  version: '1.36.0',
  port: 7_000,
  endpoint: 'https://127.0.0.1:7000',
  ca: 'ca',
  snapshots: [],
})
