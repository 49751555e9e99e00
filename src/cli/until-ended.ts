// How a long-running program learns that it must stop.
import { env, exit } from 'node:process'
import { shutdownOn, type Shutdown } from '#runtime/shutdown.ts'

/** Set by bin/kubenode. */
const IGNORES_HANGUP = 'KUBENODE_IGNORES_HANGUP'

export const untilEnded = (): Shutdown =>
  shutdownOn(process, { exit, ignoresHangup: env[IGNORES_HANGUP] !== undefined })
