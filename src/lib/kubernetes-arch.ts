// What Node.js calls an architecture, in Kubernetes' terms.

const NAMES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }

export const kubernetesArch = (node: string = process.arch): string => NAMES[node] ?? node
