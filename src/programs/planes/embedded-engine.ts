// The embedded API server as the engine of control planes: many of them in one process.
import { type CompiledPolicies, compiledPolicies, runApiServer, type RunOptions } from '#apiserver/apiserver.ts'
import { EMBEDDED } from '#controlplanes/embedded/embedded.ts'
import type { PlaneEngine } from '#controlplanes/embedded/engine.ts'
import { EMBEDDED_DATA } from './plane-snapshots.ts'
import { defined } from '#lib/defined.ts'

export interface EmbeddedEngineOptions {
  /** KubeNode's rules about a server's clients. */
  readonly rules?: RunOptions['rules']
  /** Which webhooks its servers may call; any if left out. */
  readonly mayCall?: RunOptions['mayCall']
  /** Shared with the process's other servers. */
  readonly policies?: CompiledPolicies
  readonly program?: string | undefined
  readonly log?: RunOptions['log']
  readonly recordsRights?: boolean
}

export function embeddedEngine({
  rules,
  mayCall,
  policies = compiledPolicies(),
  program,
  log,
  recordsRights,
}: EmbeddedEngineOptions = {}): PlaneEngine {
  return {
    minors: EMBEDDED.capabilities.minors,
    ...EMBEDDED_DATA,
    start: (wanted) =>
      runApiServer({
        ...wanted,
        keepsCompiled: false,
        policies,
        program,
        ...defined({ rules, mayCall, log, recordsRights }),
      }),
  }
}
