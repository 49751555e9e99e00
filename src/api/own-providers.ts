// The providers that KubeNode ships; controllers serve others under their remote providers' names.
export const OWN_PROVIDERS: readonly string[] = ['static', 'process', 'nspawn', 'hollow', 'alicloud', 'aws']
