// What a permitted operation is called in sentences. Runs in browsers.

const WORDS: Readonly<Record<string, string>> = {
  NoDisruption: 'change without disruption',
  SwitchComponent: 'switch a component',
  RestartComponent: 'restart a component',
  RestartAgent: 'restart the agent',
  ReinstallComponent: 'reinstall a component',
  RunScript: 'run a script',
  CleanDisk: 'clean the disk',
  Cordon: 'cordon',
  Drain: 'drain',
  Reboot: 'reboot',
  Fence: 'fence',
  Replace: 'replace',
  ScaleIn: 'scale in',
  ChangeControlPlane: 'change the control plane',
  DeleteControlPlane: 'delete the control plane',
  MassPrune: 'delete many objects',
}

/** The name of an operation that a newer server knows stays as it is. */
export const operationWords = (operation: string): string =>
  Object.hasOwn(WORDS, operation) ? (WORDS[operation] ?? operation) : operation

export const operationsText = (operations: readonly string[]): string => operations.map(operationWords).join(', ')
