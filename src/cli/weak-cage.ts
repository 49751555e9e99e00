// The option that lets fleet code run where this machine cannot isolate it. Every command that runs such code has the same text.
import { Option } from 'commander'

export const weakCageOption = (): Option =>
  new Option('--weak-cage <policy>', 'whether to run code of the fleet when this machine gives it no namespaces')
    .choices(['allow', 'refuse'])
    .default('refuse')

export const weakCageNote =
  'note: this machine has no namespaces; the code of the fleet runs in the weaker cage, so trust its authors\n'
