' What Roku does with a Task node whose control is set to RUN.
sub main(top as object)
    m.top = top
    init()
    if m.top.functionName = "provideTokens" then provideTokens()
    ' An app runs it again if the tokens could not be saved.
    while m.top.unsaved <> invalid
        wait(200, m.port)
        provideTokens()
    end while
end sub
