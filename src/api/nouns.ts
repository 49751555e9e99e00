// The singular nouns people use for KubeNode's kinds: `set/base`. The plural works too. Just "set" means a ComponentSet, the kind that rolls out. Pure.
export const NOUNS: Readonly<Record<string, string>> = {
  set: 'MachineComponentSet',
  component: 'MachineComponent',
  config: 'ComponentConfig',
  canary: 'ComponentCanary',
  rule: 'NodeRemedier',
  remedier: 'NodeRemedier',
  job: 'RemedyOperationJob',
  permit: 'OperationPermit',
  hold: 'OperationalHold',
  policy: 'DefenderPolicy',
  ledger: 'DefenderLedger',
  brake: 'FleetBrake',
  pipeline: 'ReleasePipeline',
  source: 'FleetSource',
}

/** `machinecomponentset/base` as people write it: `set/base`. */
export function shortWord(object: string): string {
  const [kind = '', ...name] = object.split('/')
  const noun = Object.entries(NOUNS).find(([, k]) => k.toLowerCase() === kind)?.[0]
  return [noun ?? kind, ...name].join('/')
}
