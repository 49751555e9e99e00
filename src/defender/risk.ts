// How much harm each operation can do. One table; a permit is as risky as the riskiest of its operations.
import type { Disruption } from '#api/kinds/operation-permit.ts'
import type { RISKS } from '#api/kinds/defender-policy.ts'

export type Risk = (typeof RISKS)[number]

const RISK: Readonly<Record<Disruption, Risk>> = {
  Cordon: 'Low',
  RestartComponent: 'Low',
  CleanDisk: 'Low',
  SwitchComponent: 'Medium',
  ReinstallComponent: 'Medium',
  RunScript: 'Medium',
  Drain: 'Medium',
  Reboot: 'Medium',
  Fence: 'High',
  Replace: 'High',
  ScaleIn: 'High',
  ChangeControlPlane: 'High',
  MassPrune: 'High',
}

const ORDER: readonly Risk[] = ['Low', 'Medium', 'High']

export const isAtLeast = (risk: Risk, floor: Risk): boolean => ORDER.indexOf(risk) >= ORDER.indexOf(floor)

export const riskOf = (operations: readonly Disruption[]): Risk =>
  operations.map((o) => RISK[o]).reduce((worst, r) => (isAtLeast(r, worst) ? r : worst), 'Low')
