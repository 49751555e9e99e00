// Every error number, with its cause and what to do. `kubenode explain` and docs/reference/errors.md are generated from it.
import type { Advice } from './advice.ts'
import { agent } from './agent.ts'
import { apiServer } from './api-server.ts'
import { commandLine } from './command-line.ts'
import { declared } from './declared.ts'
import { history } from './history.ts'
import { images } from './images.ts'
import { installation } from './installation.ts'
import { kubernetesClient } from './kubernetes-client.ts'
import { localFleet } from './local-fleet.ts'
import { providers } from './providers.ts'
import { sync } from './sync.ts'

export const ADVICE: Advice = {
  ...commandLine,
  ...images,
  ...history,
  ...localFleet,
  ...installation,
  ...kubernetesClient,
  ...declared,
  ...apiServer,
  ...sync,
  ...agent,
  ...providers,
}

/** By thousands: 8 covers the 8,000s. */
export const ERROR_PARTS: Readonly<Record<number, string>> = {
  1: 'command line, input, local fleet, installation',
  2: 'Kubernetes client',
  3: 'controllers, what a fleet declares',
  4: 'rules',
  5: 'kinds and schemas',
  6: 'embedded API server',
  7: 'sync',
  8: 'agent',
  10: 'Defender',
  11: 'infra providers',
  12: 'tokens of agents',
  13: 'images',
  14: 'artifacts',
  16: 'console',
  17: 'history',
}
