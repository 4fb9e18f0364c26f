// A style that a component imports goes into app.css; the import itself has no value.
declare module '*.css'
